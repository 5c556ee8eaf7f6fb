package environ

// Version is udsbench's own version. It is a constant, so that it is the same
// whether or not the build was stamped by a version control system.
const Version = "0.1.0"
