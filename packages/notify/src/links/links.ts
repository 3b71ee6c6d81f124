import { createHmac } from 'node:crypto'
import { constantTimeEqual, type Secret } from '@gatehouse/kit'
import { type LinkSecrets, linkSecretsOf } from '../model/link-secrets.ts'
import { createKeyDerivation } from './derived-keys.ts'

/** What links are for; each purpose has a key of its own, so that none stands in for another. */
export type LinkPurpose = 'open' | 'click' | 'preferences' | 'unsubscribe'

/** What signing links needs. */
export interface LinksOptions {
  /** Where the world reaches us, without a slash at the end. */
  readonly baseUrl: string
  readonly secret: Secret | LinkSecrets
}

/** Links that carry what they are about, signed. They hold for as long as their secret: mails are kept for years. */
export interface Links {
  readonly baseUrl: string
  /** The address of a link, or undefined where it would be too long. */
  url(purpose: LinkPurpose, about: readonly string[]): string | undefined
  /** What a token is about; undefined when it isn't one of ours for this purpose. */
  read(purpose: LinkPurpose, token: string): readonly string[] | undefined
}

const paths: Readonly<Record<LinkPurpose, string>> = {
  open: '/t/o/',
  click: '/t/c/',
  preferences: '/preferences/',
  unsubscribe: '/unsubscribe/',
}

const version = 'v1'
/** As long as the server reads of a path's part. */
const maxTokenLength = 1_024

/** Signs with HMAC-SHA-256 under keys derived from the secret of now; what another valid one signed holds too. */
export function createLinks({ baseUrl, secret }: LinksOptions): Links {
  const secrets = linkSecretsOf(secret)
  const keyOf = createKeyDerivation()
  const mac = (by: Secret, purpose: LinkPurpose, text: string) =>
    createHmac('sha256', keyOf(by, purpose)).update(`${version}.${text}`).digest('base64url')
  return {
    baseUrl,
    url(purpose, about) {
      const text = Buffer.from(JSON.stringify(about)).toString('base64url')
      const token = `${version}.${text}.${mac(secrets.signing(), purpose, text)}`
      return token.length > maxTokenLength ? undefined : `${baseUrl}${paths[purpose]}${token}`
    },
    read(purpose, token) {
      const [tokenVersion, text = '', signature = '', ...rest] = token.slice(0, maxTokenLength + 1).split('.')
      if (token.length > maxTokenLength || tokenVersion !== version || rest.length > 0) return undefined
      if (!secrets.valid().some((each) => constantTimeEqual(signature, mac(each, purpose, text)))) return undefined
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as string[]
    },
  }
}

/** A text without the tokens of links: who has one may change what its user receives. */
export function hideTokens(text: string, baseUrl: string): string {
  return Object.values(paths).reduce(
    (shown, path) =>
      shown
        .split(baseUrl + path)
        .map((rest, index) => (index === 0 ? rest : rest.replace(/^[\w.-]+/, '•••')))
        .join(baseUrl + path),
    text,
  )
}
