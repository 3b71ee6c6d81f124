import type { AuthMethod } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import type { Parameters } from '../oauth/parameters.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The credentials of a client in a request. */
export type Credentials =
  | { readonly method: 'none'; readonly clientId: string }
  | {
      readonly method: 'client_secret_basic' | 'client_secret_post'
      readonly clientId: string
      readonly secret: string
    }
  | { readonly method: 'private_key_jwt'; readonly clientId: string | undefined; readonly assertion: string }

/**
 * Reads the client's credentials from the Authorization header and the form (RFC 6749 §2.3, RFC 7523 §2.2).
 * @throws OAuthError `invalid_request` for two methods at once or two client ids, `invalid_client` for none
 */
export function readCredentials(authorization: string | undefined, parameters: Parameters): Credentials {
  const basic = authorization === undefined ? undefined : readBasic(authorization)
  const clientId = parameters.get('client_id')
  const secret = parameters.get('client_secret')
  const assertion = parameters.get('client_assertion')
  const hasAssertion = assertion !== undefined || parameters.get('client_assertion_type') !== undefined
  if ([basic, secret, hasAssertion || undefined].filter((one) => one !== undefined).length > 1) {
    throw new OAuthError('invalid_request', 'more than one client authentication method was used')
  }
  if (basic) {
    if (clientId !== undefined && clientId !== basic.clientId) {
      throw new OAuthError('invalid_request', 'client_id must be the client in the Authorization header')
    }
    return { method: 'client_secret_basic', ...basic }
  }
  if (hasAssertion) {
    if (assertion === undefined || parameters.get('client_assertion_type') !== assertionType) {
      throw new OAuthError('invalid_request', `client_assertion needs client_assertion_type ${assertionType}`)
    }
    return { method: 'private_key_jwt', clientId, assertion }
  }
  if (clientId === undefined) throw invalidClient('client authentication is missing')
  if (secret !== undefined) return { method: 'client_secret_post', clientId, secret }
  return { method: 'none', clientId }
}

/** Parses HTTP Basic; id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
function readBasic(authorization: string): { clientId: string; secret: string } {
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) throw invalidClient('the Authorization header must be HTTP Basic', 'client_secret_basic')
  const decoded = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  const clientId = decodeFormText(decoded.slice(0, colon))
  const secret = decodeFormText(decoded.slice(colon + 1))
  if (colon < 1 || !clientId || secret === undefined || decoded.includes('\ufffd')) {
    throw invalidClient('the Authorization header must contain a client id and a secret', 'client_secret_basic')
  }
  return { clientId, secret }
}

function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** The error `invalid_client`; for HTTP Basic with the challenge that HTTP requires (RFC 6749 §5.2). */
export function invalidClient(description: string, method?: AuthMethod): OAuthError {
  const headers = { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' }
  return new OAuthError('invalid_client', description, method === 'client_secret_basic' ? { headers } : {})
}
