//! Where kernels find rows: in panels of 128.

use zipfold_core::Job;
use zipfold_plan::overrides::Residency;

/// Where kernels find the panel of a row: counted from the first one that is held.
pub fn panels(job: &Job, rows: Residency) -> String {
    let constants: usize = job.low.constants.iter().map(Vec::len).sum();
    let first = |at: usize| match rows {
        Residency::Held => String::new(),
        Residency::Streamed | Residency::Block | Residency::Overlap => {
            format!(" - (zf_u32)c[{at}]")
        }
    };
    format!(
        "#define ZF_PANEL_X(row) ((row) / 128u{})\n#define ZF_PANEL_Y(row) ((row) / 128u{})\n",
        first(constants),
        first(constants + 1)
    )
}
