# A study from its making to its recommendation, with R and httr2, which needs jsonlite for JSON and does not install it by itself.
for (needed in c("httr2", "jsonlite")) {
  if (!requireNamespace(needed, quietly = TRUE)) stop("Install what is missing: install.packages(\"", needed, "\")", call. = FALSE)
}
library(httr2)

server <- sub("/$", "", Sys.getenv("HEADROOM_URL", "http://127.0.0.1:8080"))
if (Sys.getenv("HEADROOM_TOKEN") == "") {
  stop("Put an API token into HEADROOM_TOKEN: export HEADROOM_TOKEN=$(bin/headroom token -name examples)", call. = FALSE)
}

# call asks the API. Each POST carries a key, so that repeating it never counts twice.
call <- function(path, body = NULL) {
  asked <- request(paste0(server, "/api/v1", path)) |>
    req_auth_bearer_token(Sys.getenv("HEADROOM_TOKEN")) |>
    req_retry(max_tries = 5, is_transient = function(answer) resp_status(answer) %in% c(429, 502, 503, 504)) |>
    req_error(body = function(answer) resp_body_json(answer, check_type = FALSE)$detail)
  if (!is.null(body)) {
    key <- paste(sample(c(letters, 0:9), 24, replace = TRUE), collapse = "")
    asked <- asked |> req_headers("Idempotency-Key" = key) |> req_body_json(body, auto_unbox = TRUE, digits = NA)
  }
  resp_body_json(req_perform(asked))
}

study <- call("/studies", list(
  name = "Reaction, from R",
  parameters = list(list(name = "temperature", type = "real", low = 20, high = 60, unit = "°C")),
  objective = list(metric = "yield", direction = "maximize", unit = "%"),
  constraints = list(list(metric = "impurity", op = "<=", threshold = 0.5, unit = "%"))
))$id

for (i in seq_len(as.integer(Sys.getenv("TRIALS", "8")))) {
  trial <- call(paste0("/studies/", study, "/ask"), list(count = 1))$trials[[1]]
  temperature <- trial$parameters$temperature
  results <- list(yield = 80 - (temperature - 48)^2 / 20, impurity = 0.1 + (temperature / 60)^4) # the lab
  call(paste0("/studies/", study, "/trials/", trial$number, "/tell"), list(metrics = results))
  cat(sprintf("trial %d: %.2f °C, yield %.1f %%, impurity %.2f %%\n", trial$number, temperature, results$yield, results$impurity))
}
cat("recommended:", unlist(call(paste0("/studies/", study, "/state"))$recommendation$parameters), "°C\n")
