import { Problem, randomToken } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { basePath } from '../cookies.ts'
import type { Bundle } from './bundle.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const yearSeconds = 31_536_000

/** Every page of the console: the same document, which holds no data. Its styles carry a nonce of this answer. */
export function shellEndpoint(bundle: () => Promise<Bundle>): Handler {
  return async (_request, reply) => {
    const nonce = randomToken(16)
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policyWith(nonce))
      .header('cross-origin-opener-policy', 'same-origin')
      .header('permissions-policy', 'camera=(), microphone=(), geolocation=(), payment=()')
      .send(pageOf(await bundle(), nonce))
  }
}

/** Scripts of this origin only, and no Trusted Types: Mantine writes its style elements as text. */
function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%231f5fbf'/%3E%3Ctext x='16' y='23' font-family='system-ui,sans-serif' font-size='20' font-weight='700' text-anchor='middle' fill='white'%3EG%3C/text%3E%3C/svg%3E"

function pageOf({ script, style, preload }: Bundle, nonce: string): string {
  const assets = `${basePath}/assets`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">
<title>Gatehouse</title><link rel="icon" href="${icon}">
<link rel="stylesheet" href="${assets}/${style}">
${preload.map((name) => `<link rel="modulepreload" href="${assets}/${name}">`).join('')}
<script type="module" src="${assets}/${script}"></script></head>
<body><div id="root" data-style-nonce="${nonce}"></div><noscript>The console needs JavaScript.</noscript></body></html>
`
}

/** A file of the application. Its name changes with its content, so that it may be kept for ever. */
export function assetEndpoint(bundle: () => Promise<Bundle>): Handler {
  return async (request, reply) => {
    const { name = '' } = request.params as { name?: string }
    const asset = (await bundle()).assets.get(name)
    if (asset === undefined) throw new Problem(404, `There is no file ${name} of the console.`)
    const compressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    reply
      .type(asset.type)
      .header('cache-control', `public, max-age=${yearSeconds}, immutable`)
      .header('vary', 'accept-encoding')
    if (compressed) reply.header('content-encoding', 'gzip')
    return reply.send(compressed ? asset.gzip : asset.bytes)
  }
}
