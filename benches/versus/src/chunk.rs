//! Chunks under way to several peers: ours beside mirrors of the network's client, and the mirrors beside ant-protocol itself.

use ant_protocol::{ChunkGetResponse, ChunkMessage, ChunkMessageBody, ChunkPutRequest};
use bytes::Bytes;
use levada_benches::chunk::{ChunkBenchError, Flight, Form, FormKind, Measured, Message, SinkKind, Workload, measure};
use levada_benches::machine::Watch;
use levada_benches::median::median;
use levada_engine::count_copy;

use crate::Options;
use crate::row::{Row, absolute, contested};

/// Every row, in the order of the report.
pub const MEASURES: [&str; 8] = [
    "chunk_cpu_vec",
    "chunk_cpu_bytes",
    "chunk_peak_heap",
    "chunk_peak_growth",
    "chunk_mirror_cpu",
    "chunk_mirror_heap",
    "chunk_mirror_vec_cpu",
    "chunk_mirror_vec_heap",
];

const BYTES: u64 = 300_000_000;
const IN_FLIGHT: usize = 64;
const RECIPIENTS: usize = 5;

/// As `--quick` has it: a sample in a second.
const QUICK_BYTES: u64 = 40_000_000;
const QUICK_IN_FLIGHT: usize = 4;

/// Times the processor time of `vec` and of `bytes` that ours must stay below.
const VEC_TIMES: f64 = 8.0;
const BYTES_TIMES: f64 = 3.0;

/// MiB at the peak for 256 MiB of chunks, and what 19 recipients more may add.
const PEAK_MIB_MAX: f64 = 264.0;
const GROWTH_MIB_MAX: f64 = 1.0;

/// Per cent by which the mirror may differ from ant-protocol.
const MIRROR_PCT_MAX: f64 = 10.0;

const MIB: f64 = 1_048_576.0;

/// ant-protocol's own types and its own `encode`, for each recipient: a request to store, whose content is `Bytes`.
struct AntBytes;

impl Form for AntBytes {
    fn name(&self) -> &'static str {
        "ant-protocol"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = Bytes::from(filled(workload, number, 0));
        let mut messages = Vec::with_capacity(workload.recipients);
        for request_id in 0..workload.recipients as u64 {
            let (address, payment_proof) = (workload.address(number), Some(Workload::proof().to_vec()));
            let request = ChunkPutRequest { address, content: content.clone(), payment_proof };
            let message = ChunkMessage { request_id, body: ChunkMessageBody::PutRequest(request) };
            let encoded = encode(&message, content.len())?;
            messages.push(Message::Own { encoded, request: None });
        }
        Ok(Flight { messages, content: Some(content) })
    }
}

/// The same of the only chunk that is still a `Vec` in ant-protocol, that of an answer; it is as much longer as the payment proof,
/// which an answer has not.
struct AntVec;

impl Form for AntVec {
    fn name(&self) -> &'static str {
        "ant-protocol-vec"
    }

    fn fly(&mut self, workload: &Workload, number: u64) -> Result<Flight, ChunkBenchError> {
        let content = filled(workload, number, Workload::proof().len());
        let mut messages = Vec::with_capacity(workload.recipients);
        for request_id in 0..workload.recipients as u64 {
            let copy = content.clone();
            count_copy(copy.len());
            let answer = ChunkGetResponse::Success { address: workload.address(number), content: copy };
            let message = ChunkMessage { request_id, body: ChunkMessageBody::GetResponse(answer) };
            let encoded = encode(&message, content.len())?;
            let ChunkMessageBody::GetResponse(ChunkGetResponse::Success { content: copy, .. }) = message.body else {
                unreachable!("it was made so");
            };
            messages.push(Message::Own { encoded, request: Some(copy) });
        }
        Ok(Flight { messages, content: Some(Bytes::from(content)) })
    }
}

fn filled(workload: &Workload, number: u64, more_bytes: usize) -> Vec<u8> {
    let mut content = vec![0; workload.chunk_bytes + more_bytes];
    workload.fill(number, &mut content);
    content
}

fn encode(message: &ChunkMessage, content_bytes: usize) -> Result<Vec<u8>, ChunkBenchError> {
    let encoded = message.encode().map_err(|error| ChunkBenchError::Mirror(error.to_string()))?;
    count_copy(content_bytes);
    Ok(encoded)
}

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &&str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    MEASURES.into_iter().filter(wanted).map(|measure| row(measure, options.quick)).collect()
}

/// The forms that take turns. Each keeps its memory from one turn to the next, as the allocator keeps theirs; the first turn, which
/// does not count, touches it.
struct Forms {
    workload: Workload,
    vectored: Box<dyn Form>,
    vec: Box<dyn Form>,
    bytes: Box<dyn Form>,
    rounds: usize,
}

impl Forms {
    fn new(quick: bool) -> Self {
        let (bytes, in_flight) = if quick { (QUICK_BYTES, QUICK_IN_FLIGHT) } else { (BYTES, IN_FLIGHT) };
        let workload = Workload::new(bytes, in_flight, RECIPIENTS);
        let make = |kind: FormKind| kind.make(&workload).expect("the forms fit into memory");
        let (vectored, vec, bytes) = (make(FormKind::Vectored), make(FormKind::Vec), make(FormKind::Bytes));
        Self { workload, vectored, vec, bytes, rounds: if quick { 1 } else { 9 } }
    }

    /// Processor time beside a rival.
    fn cpu_row(&mut self, measure: &'static str, name: &str, bar: f64) -> Row {
        let watch = Watch::begin();
        let rival = if name == "vec" { &mut self.vec } else { &mut self.bytes };
        let (mut of_ours, mut of_rival) = (Vec::new(), Vec::new());
        for round in 0..=self.rounds {
            let ours = cpu_ms(&measured(&mut *self.vectored, &self.workload));
            let theirs = cpu_ms(&measured(&mut **rival, &self.workload));
            if round > 0 {
                of_ours.push(ours);
                of_rival.push(theirs);
            }
        }
        let samples = vec![("levada".to_owned(), of_ours), (name.to_owned(), of_rival)];
        contested(measure, "CPU ms", bar, samples, watch.end())
    }

    /// By how many per cent a mirror's figure differs from that of its original: the median of neighbours' quotients.
    fn mirror_row(&mut self, measure: &'static str, is_vec: bool, figure: fn(&Measured) -> f64) -> Row {
        let (workload, rounds) = (self.workload, self.rounds);
        let mirror: &mut dyn Form = if is_vec { &mut *self.vec } else { &mut *self.bytes };
        let original: &mut dyn Form = if is_vec { &mut AntVec } else { &mut AntBytes };
        absolute(measure, "%", MIRROR_PCT_MAX, 1, || {
            let mut quotient = |round| {
                // Neither is always the one that finds the memory as the other left it.
                let first = (round % 2 == 0).then(|| figure(&measured(mirror, &workload)));
                let of_original = figure(&measured(original, &workload));
                let of_mirror = first.unwrap_or_else(|| figure(&measured(mirror, &workload)));
                of_mirror / of_original
            };
            quotient(0);
            (median((1..=rounds).map(quotient).collect()) - 1.0).abs() * 100.0
        })
    }
}

fn row(measure: &'static str, quick: bool) -> Row {
    let mut forms = Forms::new(quick);
    let (workload, rounds) = (forms.workload, forms.rounds);
    // The peak of what quick samples hold, as if it were that of 64 chunks.
    let scale = IN_FLIGHT as f64 / workload.in_flight as f64;
    let mut peak_mib_to = |recipients| peak_mib(&measured(&mut *forms.vectored, &Workload { recipients, ..workload }));
    match measure {
        "chunk_cpu_vec" => forms.cpu_row(measure, "vec", VEC_TIMES),
        "chunk_cpu_bytes" => forms.cpu_row(measure, "bytes", BYTES_TIMES),
        "chunk_peak_heap" => absolute(measure, "MiB", PEAK_MIB_MAX, rounds, || peak_mib_to(RECIPIENTS) * scale),
        "chunk_peak_growth" => absolute(measure, "MiB", GROWTH_MIB_MAX, rounds, || peak_mib_to(20) - peak_mib_to(1)),
        "chunk_mirror_cpu" => forms.mirror_row(measure, false, cpu_ms),
        "chunk_mirror_heap" => forms.mirror_row(measure, false, peak_mib),
        "chunk_mirror_vec_cpu" => forms.mirror_row(measure, true, cpu_ms),
        _ => forms.mirror_row(measure, true, peak_mib),
    }
}

fn cpu_ms(run: &Measured) -> f64 {
    run.cpu_ns as f64 / 1e6
}

fn peak_mib(run: &Measured) -> f64 {
    run.peak_heap_bytes as f64 / MIB
}

fn measured(form: &mut dyn Form, workload: &Workload) -> Measured {
    measure(form, workload, SinkKind::Null).expect("nothing is sent anywhere")
}
