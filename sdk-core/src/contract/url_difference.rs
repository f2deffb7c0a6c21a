//! How the URL of a delivery differs from the one it was signed for (contract/signature.md, step 11).

super::closed_words! {
    /// Kind of difference; the first that applies, in this order.
    pub enum UrlDifference ("difference") {
        /// `http` and `https`, or the same in another case.
        Scheme => "scheme",
        /// The hosts are equal but for upper and lower case.
        HostCase => "host_case",
        /// Another host.
        Host => "host",
        /// One spells out the port that the other leaves to the scheme.
        DefaultPort => "default_port",
        /// Another port.
        Port => "port",
        /// The paths are equal but for a slash at the end.
        TrailingSlash => "trailing_slash",
        /// Path or query are equal once percent-decoded.
        PercentEncoding => "percent_encoding",
        /// Another path.
        Path => "path",
        /// The same parameters in another order.
        QueryOrder => "query_order",
        /// Another query.
        Query => "query",
        /// One has a fragment, or another one.
        Fragment => "fragment",
    }
}
