/** Micro-USD as USD with all six decimals, for programs: -1234567890n is "-1234.567890". */
export const usdOfMicro = (microUsd: bigint): string => decimalText(microUsd, 6);
/** Pico-USD likewise, with twelve. */
export const usdOfPico = (picoUsd: bigint): string => decimalText(picoUsd, 12);

function decimalText(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
