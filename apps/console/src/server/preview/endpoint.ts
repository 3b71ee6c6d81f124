import { Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { signedOut } from '../proxy/signed-in-call.ts'
import { readSession } from '../session/reader.ts'
import { previewLifetimeMs } from './store.ts'

/** The longest document, in characters: a template renders to no more, and the pages add little. */
const maxDocumentLength = 400_000

/**
 * What a mail may do in its frame: show its own styles and the images that are in it. It runs no script, sends no form,
 * loads nothing, and has an origin of its own, whoever opens it.
 */
const policy = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ')

/**
 * POST /console/api/preview: keeps a document for the frame of this session. It is a document of its own since a `srcdoc`
 * frame inherits the policy of the page, and shows no styles of a mail.
 */
export function keepPreviewEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { store, clock } = context
    const session = await readSession({ ...context, sessions: store.sessions }, request.headers)
    if (session === undefined) throw signedOut()
    const document = readDocument(request.body)
    const id = randomToken(24)
    const now = clock.now()
    const expiresAt = now + previewLifetimeMs
    const preview = { idHash: tokenHash(id), sessionIdHash: session.idHash, document, expiresAt }
    if (!(await store.previews.keep(preview, now))) throw signedOut()
    return reply.code(201).send({ id, expires_at: new Date(expiresAt).toISOString() })
  }
}

/** GET /console/preview/{id}: the document, for frames of the console's own pages in the session that made it. */
export function previewEndpoint(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { store, clock } = context
    const { headers } = request
    const { id = '' } = request.params as { id?: string }
    const isFramed = headers['sec-fetch-site'] === 'same-origin' && headers['sec-fetch-dest'] === 'iframe'
    const session = isFramed && (await readSession({ ...context, sessions: store.sessions }, headers, false))
    const document =
      session && (await store.previews.find({ idHash: tokenHash(id), sessionIdHash: session.idHash }, clock.now()))
    if (!document) throw new Problem(404, 'There is no such preview.')
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('x-frame-options', 'SAMEORIGIN')
      .header('x-dns-prefetch-control', 'off')
      .send(document)
  }
}

/**
 * The document that a body brings, as PostgreSQL stores it. A `link` may connect to a host whatever the policy says: it
 * becomes an element that does nothing.
 * @throws Problem 400 for a body without a document, 413 for a long one
 */
function readDocument(body: unknown): string {
  const { html } = parseObject(body)
  if (typeof html !== 'string') throw new Problem(400, 'The body must be JSON with the member html, a text.')
  if (html.length > maxDocumentLength)
    throw new Problem(413, `A preview has ${maxDocumentLength} characters at most, not ${html.length}.`)
  return html
    .replaceAll('\u0000', '\ufffd')
    .toWellFormed()
    .replace(/<link(?=[\s/>])/gi, '<x-link')
}

function parseObject(body: unknown): { readonly html?: unknown } {
  try {
    const value: unknown = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : undefined
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
