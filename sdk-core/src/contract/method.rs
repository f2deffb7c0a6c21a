//! The methods a delivery can have (contract/http-queue.md, option `Chronq-Method`).

super::closed_words! {
    /// Method of a delivery or callback.
    pub enum Method ("method") {
        /// GET
        Get => "GET",
        /// POST, the default.
        Post => "POST",
        /// PUT
        Put => "PUT",
        /// PATCH
        Patch => "PATCH",
        /// DELETE
        Delete => "DELETE",
    }
}

impl Method {
    /// Reads a method in any case, as the option allows.
    pub fn from_any_case(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.as_str().eq_ignore_ascii_case(text))
    }
}

impl From<Method> for http::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Patch => Self::PATCH,
            Method::Delete => Self::DELETE,
        }
    }
}
