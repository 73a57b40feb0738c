/**
 * Frees what a buffer keeps, at once: to the garbage collector 32 MiB that wait for it are a reason to collect everything,
 * and meanwhile nobody is served. Only for whoever is the last to have it: it is empty then, for everybody. What is part of
 * something larger is left to the collector.
 */
export function freeBytes({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
