const maxTime = Date.UTC(9999, 11, 31)

/** Reads a time as logs write it, Unix seconds or milliseconds or ISO 8601, as Unix milliseconds; undefined for what is none. */
export function parseTime(found: unknown): number | undefined {
  if (typeof found !== 'string' && typeof found !== 'number') return undefined
  const text = String(found).trim()
  const unix = /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
  const at =
    unix === undefined
      ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '')
      : Math.floor(unix < 100_000_000_000 ? unix * 1_000 : unix)
  return at >= 0 && at <= maxTime ? at : undefined
}
