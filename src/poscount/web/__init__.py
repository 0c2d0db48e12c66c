"""The page in the browser: `poscount serve`, and the same as a JSON API.

A request passes `guard`, `app` and `service` into a queue of `jobs`. A `worker` process, which can
be stopped, does the work through `poscount.app`. The server itself only receives files, keeps
sessions apart and hands out results. No statistics here, and no reading of files.
"""
