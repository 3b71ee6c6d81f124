import { randomToken, seal, unseal } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { providerLogoutAddress } from '../connections/logout/logout-address.ts'
import { providerSessionPurpose } from '../connections/secrets.ts'
import type { LogoutContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { connectionName, signsOutThere } from '../model/connection.ts'
import { providerPage } from '../pages/sign-in/provider-page.ts'
import { setCookie } from '../sessions/browser.ts'
import { cookie, cookieName, readCookies } from '../sessions/cookies.ts'
import type { StoredProviderSession } from '../store/index.ts'

const logoutCookie = 'gatehouse_logout'
const purpose = 'provider logout'
/** How long a browser may stay at the provider, in milliseconds. */
const awayMs = 10 * 60_000
/** Browsers store no longer cookie. */
const maxCookieLength = 3_800

/** A browser that signs out, and where it goes in the end. */
export interface LeavingBrowser {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** A registered address of the client that requested the logout. */
  readonly goTo: string | undefined
}

/** Where the browser goes at the provider, and what is recognized when it comes back. */
interface ProviderStep {
  readonly address: URL
  /** The provider's name. */
  readonly provider: string
  readonly state: string
}

/**
 * Sends a browser whose session has ended to the provider through which it was signed in to, by a page as on the way to a
 * sign-in. Where it goes afterwards is sealed into a cookie, so that an abandoned logout leaves nothing behind. False,
 * without a response, where the logout is local: that is the setting, the provider has no such address or can't be
 * reached, or the address of the client is too long for a cookie.
 */
export async function signOutAtProvider(
  context: LogoutContext,
  { request, reply, goTo }: LeavingBrowser,
  session: StoredProviderSession,
): Promise<boolean> {
  const step = await findStep(context, request, session)
  if (step === undefined) return false
  const { address, provider, state } = step
  const { clock, encryptionKey, secureCookies: secure } = context
  const away = seal(JSON.stringify({ state, goTo, expiresAt: clock.now() + awayMs }), encryptionKey, purpose)
  if (away.length > maxCookieLength) return false
  setCookie(reply, cookie(logoutCookie, away, { secure, maxAgeSeconds: awayMs / 1000 }))
  const texts = textsFor(context, request)
  reply.header('refresh', `0; url=${address.href}`)
  sendPage(context, reply, texts, providerPage(texts, { key: 'logout.provider', provider, address }))
  return true
}

async function findStep(
  context: LogoutContext,
  request: FastifyRequest,
  { id, connectionId, idTokenSealed }: StoredProviderSession,
): Promise<ProviderStep | undefined> {
  const { store, providers, issuer, encryptionKey } = context
  const connection = await store.connections.find(connectionId)
  if (connection === undefined || !signsOutThere(connection)) return undefined
  const state = randomToken()
  try {
    const idToken =
      idTokenSealed === undefined ? undefined : unseal(idTokenSealed, encryptionKey, providerSessionPurpose(id))
    const configuration = await providers.within(connection, () => providers.get(connection))
    const address = providerLogoutAddress(configuration, issuer, { idToken, state })
    return address && { address, provider: connectionName(connection), state }
  } catch (error) {
    request.log.warn({ err: error, connection: connectionId }, 'the provider of a session can’t be reached')
    return undefined
  }
}

/** Where the browser goes that a provider sends back, once; undefined without such a logout of this browser. */
export function returnFromProvider(
  { clock, encryptionKey, secureCookies: secure }: LogoutContext,
  request: FastifyRequest,
  reply: FastifyReply,
): string | undefined {
  const sealed = readCookies(request.headers.cookie).get(cookieName(logoutCookie, secure))
  if (sealed === undefined) return undefined
  setCookie(reply, cookie(logoutCookie, '', { secure, maxAgeSeconds: 0 }))
  try {
    const { state, goTo, expiresAt } = JSON.parse(unseal(sealed, encryptionKey, purpose))
    return state === pageParameters(request).get('state') && expiresAt > clock.now() ? goTo : undefined
  } catch {
    return undefined
  }
}
