import type { FastifyReply } from 'fastify'

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Answers a page that goes on to `path` by itself. A redirect would not do: the browser came from another site, and a
 * Strict cookie is not sent until a page of ours navigates.
 */
export function navigationPage(reply: FastifyReply, path: string): FastifyReply {
  const target = path.replace(/[&<>"']/g, (character) => escapes[character] ?? '')
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Gatehouse</title><meta http-equiv="refresh" content="0;url=${target}"></head><body><a href="${target}">Gatehouse</a></body></html>`,
    )
}
