//! The compiled half of the Python package: NumPy arrays become tables, states become arrays. It
//! decides nothing.

mod array;
mod arrow;
mod distances;
mod errors;
mod in_memory;
mod infer;
mod jobs;
mod lent;
mod network;
mod options;
mod paircount;
mod patterns;
mod product;
mod rdf;
mod results;
mod run;
mod set_distance;
mod shown;
mod store;
mod tables;
mod variogram;
mod watch;

use pyo3::prelude::*;

#[pymodule]
fn _zipfold(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(distances::dense, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::save, module)?)?;
    module.add_function(wrap_pyfunction!(run::merge, module)?)?;
    module.add_function(wrap_pyfunction!(run::explain, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_plan, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_plan_file, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_work, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_files_of_share, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_status, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_merge, module)?)?;
    module.add_function(wrap_pyfunction!(store::store_save, module)?)?;
    module.add_function(wrap_pyfunction!(in_memory::read_file, module)?)?;
    module.add_function(wrap_pyfunction!(run::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(run::unknown_metric, module)?)?;
    module.add_function(wrap_pyfunction!(options::renamed, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::arrow_columns, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::arrow_stream, module)?)?;
    module.add_function(wrap_pyfunction!(infer::infer, module)?)?;
    module.add_function(wrap_pyfunction!(infer::infer_plan, module)?)?;
    module.add_function(wrap_pyfunction!(infer::infer_merge, module)?)?;
    module.add_function(wrap_pyfunction!(infer::store_is_of_inference, module)?)?;
    module.add_function(wrap_pyfunction!(product::sum_product, module)?)?;
    jobs_of_a_field(module)?;
    module.add_function(wrap_pyfunction!(options::available_memory, module)?)?;
    module.add_function(wrap_pyfunction!(options::parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(options::check_device, module)?)?;
    module.add_function(wrap_pyfunction!(options::devices, module)?)?;
    Ok(())
}

/// The questions of a field, each with its plan.
fn jobs_of_a_field(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(paircount::paircount, module)?)?;
    module.add_function(wrap_pyfunction!(paircount::explain_paircount, module)?)?;
    module.add_function(wrap_pyfunction!(tables::join_tables, module)?)?;
    module.add_function(wrap_pyfunction!(tables::explain_join, module)?)?;
    module.add_function(wrap_pyfunction!(tables::crossmatch, module)?)?;
    module.add_function(wrap_pyfunction!(tables::explain_crossmatch, module)?)?;
    module.add_function(wrap_pyfunction!(set_distance::set_distance, module)?)?;
    module.add_function(wrap_pyfunction!(
        set_distance::explain_set_distance,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(tables::silhouette, module)?)?;
    module.add_function(wrap_pyfunction!(tables::explain_silhouette, module)?)?;
    module.add_function(wrap_pyfunction!(network::network, module)?)?;
    module.add_function(wrap_pyfunction!(network::explain_network, module)?)?;
    module.add_function(wrap_pyfunction!(variogram::variogram, module)?)?;
    module.add_function(wrap_pyfunction!(variogram::explain_variogram, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::ripley, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::explain_ripley, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::cooccurrence, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::explain_cooccurrence, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::correlogram, module)?)?;
    module.add_function(wrap_pyfunction!(patterns::explain_correlogram, module)?)?;
    module.add_function(wrap_pyfunction!(rdf::rdf, module)?)?;
    module.add_function(wrap_pyfunction!(rdf::explain_rdf, module)?)?;
    Ok(())
}
