//! Named preparations of whole tables: rank, whiten, variances (DESIGN 4). Each metric names the one it needs.
