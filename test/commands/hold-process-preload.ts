/** What a driver may leave open: a timer that keeps the process for ever. */
setInterval(() => undefined, 1_000);
