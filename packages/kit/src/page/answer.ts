import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Branding } from './branding.ts'
import type { Html } from './html.ts'
import { layout } from './layout.ts'
import type { Site } from './site.ts'
import type { Languages, Texts } from './texts.ts'

/** What every page of a service has in common. */
export interface PageParts {
  readonly branding: Branding
  readonly languages: Languages
  /** Where style, icon and script are served; `/pages` when left out. */
  readonly assets?: string
}

/** One page as a response. */
export interface PageAnswer {
  readonly title: string
  readonly body: Html
  readonly status?: number
  readonly wide?: boolean
  readonly submits?: boolean
  /**
   * The script of the page, by the name of its file beside the style. It may call our own endpoints; the page works
   * without it.
   */
  readonly script?: string
  /** Where the page's forms may lead, beside our own pages: a browser checks the redirect after a form too. */
  readonly formTargets?: readonly string[]
  /** The bar above a page that is one of several. */
  readonly site?: Site
  /** Further style sheets, by the names of their files beside the style. */
  readonly styles?: readonly string[]
  /** Whether documents of our own are shown in frames. */
  readonly frames?: boolean
}

/** The language for a request. */
export function textsFor({ languages }: PageParts, request: FastifyRequest, uiLocales?: string): Texts {
  return languages.choose(uiLocales, request.headers['accept-language'])
}

/** Sends a page: no framing, no inline script or style, forms lead home or to the one place named. */
export function sendPage(parts: PageParts, reply: FastifyReply, texts: Texts, answer: PageAnswer): FastifyReply {
  const { branding, assets } = parts
  const logo = branding.logoUrl === undefined ? '' : ` ${new URL(branding.logoUrl).origin}`
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self'${logo}`,
    ...(answer.submits || answer.script !== undefined ? ["script-src 'self'"] : []),
    ...(answer.script === undefined ? [] : ["connect-src 'self'"]),
    ...(answer.frames ? ["frame-src 'self'"] : []),
    `form-action 'self'${(answer.formTargets ?? []).map((target) => ` ${target}`).join('')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return reply
    .code(answer.status ?? 200)
    .header('content-security-policy', policy.join('; '))
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .type('text/html; charset=utf-8')
    .send(layout({ ...answer, texts, branding, ...(assets === undefined ? {} : { assets }) }))
}
