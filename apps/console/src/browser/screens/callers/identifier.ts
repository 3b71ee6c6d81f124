const maxShown = 44

/** Whether the API masked an id: mail addresses and numbers with dots, addresses as their network. */
export function isMasked(id: string, kind: string): boolean {
  return id.includes('•') || (kind === 'ip' && /\/(?:24|48)$/.test(id))
}

/** The id as an address of the console has it: a network of IPv6 without its length, since requests count by it. */
export function pathId(id: string, kind: string): string {
  return kind === 'ip' ? id.replace(/\/64$/, '') : id
}

/** An id that fits a table: hashes are long, and their beginning says enough. */
export function shortId(id: string): string {
  return id.length <= maxShown ? id : `${id.slice(0, maxShown - 1)}…`
}
