// Package exporter writes runs for other programs: the Go benchmark format,
// which benchstat reads; columns, which ministat reads; and CSV. Package
// importer reads all three back.
//
//	… ─▶ run record ─▶ journal ─▶ exporter
//
// Failed runs have no figure: they stand in CSV with their status and their
// reason, and are left out elsewhere, counted by the functions here.
package exporter
