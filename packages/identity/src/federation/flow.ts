import { randomToken, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { FastifyReply } from 'fastify'
import { authorizationUrl, type FlowSecrets } from '../connections/authorization.ts'
import { connectionFlowPurpose } from '../connections/secrets.ts'
import type { FederationContext } from '../context/features.ts'
import type { Connection } from '../model/connection.ts'
import { openContinuation } from '../sessions/continuation.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import { sendProviderPage } from './provider-page.ts'

/** How long a browser may stay at a provider, in milliseconds. */
const flowMs = 10 * 60_000

/** A user who connects a provider to the account, in this session. */
export interface Linking {
  readonly userId: string
  readonly sessionId: string
}

/** What a flow proves when it returns, and for whom it links, if it does. */
export interface SealedFlow extends FlowSecrets {
  readonly linking?: Linking | undefined
}

/**
 * Sends the browser to a provider: the state is stored by its hash, for this browser and this connection, and used once.
 * @throws PageError 400 for a continuation of another browser; Error when the provider's metadata can't be read
 */
export async function beginFlow(
  context: FederationContext,
  exchange: BrowserExchange,
  connection: Connection,
  {
    continuation,
    linking,
    loginHint,
  }: { readonly continuation: string; readonly linking?: Linking; readonly loginHint?: string },
): Promise<FastifyReply> {
  const { request, needsNewSignIn = false } = openContinuation(context, exchange.browser, continuation)
  // Who is signed in already signs in again because that sign-in is too old, or another user's.
  const signsInAgain = linking === undefined && exchange.browser.signedIn !== undefined
  const prompts = String(request.prompt ?? '').split(' ')
  const freshSignIn =
    needsNewSignIn ||
    signsInAgain ||
    prompts.includes('login') ||
    prompts.includes('select_account') ||
    request.max_age !== undefined
  const freshSince = freshSignIn ? Math.floor(context.clock.now() / 1000) : undefined
  const secrets = { state: randomToken(), nonce: randomToken(), codeVerifier: randomToken(), freshSince }
  const address = await context.providers.within(connection, async () =>
    authorizationUrl(await context.providers.get(connection), connection, context.issuer, {
      ...secrets,
      loginHint,
    }),
  )
  const hash = tokenHash(secrets.state)
  const flow: SealedFlow = { ...secrets, linking }
  await context.store.connectionFlows.put({
    hash,
    connectionId: connection.id,
    browserHash: tokenHash(exchange.browser.id),
    sealed: seal(JSON.stringify(flow), context.encryptionKey, connectionFlowPurpose(hash)),
    continuation,
    expiresAt: context.clock.now() + flowMs,
  })
  return sendProviderPage(context, exchange, connection, address)
}

/** Opens a consumed flow. */
export function openFlow({ encryptionKey }: FederationContext, hash: string, sealed: string): SealedFlow {
  return JSON.parse(unseal(sealed, encryptionKey, connectionFlowPurpose(hash)))
}
