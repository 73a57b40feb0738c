/** An instant as events have it, and as it is told: ISO 8601 in UTC, to the millisecond. @throws RangeError where there is no such time */
export const instant = (ms: number): string => new Date(ms).toISOString();
