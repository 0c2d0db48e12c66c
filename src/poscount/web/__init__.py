"""The page in the browser: `poscount serve`, and the same as a JSON API.

A request goes through `app` and `service` into a queue of `jobs`; a `worker` process does it through
`poscount.workflows` and can be stopped. The server itself only receives files, keeps sessions apart
and hands out results. No statistics here, and no reading of files.
"""
