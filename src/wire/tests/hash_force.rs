//! Forcing a kernel for the whole process. Alone in its file: other tests would hash with it.

use levada_wire::error::KernelError;
use levada_wire::hash::{Job, Kernel, Scratch, force_kernel, hash_many, sha256};

#[test]
fn a_process_forces_one_kernel_at_most() {
    for kernel in Kernel::ALL {
        assert_eq!(Kernel::from_name(kernel.name()), Ok(kernel));
        if !kernel.is_supported() {
            let unsupported = KernelError::Unsupported { kernel: kernel.name() };
            assert_eq!(force_kernel(kernel), Err(unsupported));
            assert_eq!(Scratch::with_kernel(kernel).err(), Some(unsupported));
        }
    }
    for name in ["", "sha256", "AVX2X8", "avx512x16 "] {
        assert_eq!(Kernel::from_name(name), Err(KernelError::Unknown), "{name:?}");
    }

    let supported: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.is_supported()).collect();
    let forced = supported[0];
    assert_eq!(force_kernel(forced), Ok(()));
    assert_eq!(force_kernel(forced), Ok(()), "the same again changes nothing");
    for other in &supported[1..] {
        assert_eq!(force_kernel(*other), Err(KernelError::AlreadyForced { kernel: forced.name() }));
    }

    let mut scratch = Scratch::new();
    assert_eq!([1, 2, 64].map(|messages| scratch.kernel(messages)), [forced; 3]);
    let mut digests = [[0; 32]; 1];
    hash_many(&[Job::message_id(b"alone")], &mut digests, &mut scratch);
    assert_eq!(digests, [sha256(b"alone")]);
}
