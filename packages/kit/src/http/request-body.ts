import type { IncomingHttpHeaders } from 'node:http'

/** Whether a request has a body, by its framing (RFC 9112 §6.3). */
export function hasBody({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
