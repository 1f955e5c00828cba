/** A process that never answers, as one that looks at a file server that is gone. */
setInterval(() => {}, 1_000)
