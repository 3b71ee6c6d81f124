import { isCleanText, randomToken, tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { PasskeyContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { methodsOf } from '../model/authentication.ts'
import { maxPasskeyNameLength, maxPasskeys } from '../model/factors/passkey.ts'
import type { User } from '../model/user.ts'
import { deviceName } from '../pages/device-name.ts'
import { newPasskeyPage } from '../pages/passkeys/pages.ts'
import {
  type Browser,
  checkForm,
  formToken,
  readBrowser,
  readUserAgent,
  setSessionCookie,
} from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { AddPasskeyResult } from '../store/index.ts'
import { createRegistrationOptions, verifyRegistration } from '../webauthn/registration.ts'

const path = '/account/passkeys/new'

/** GET and POST /account/passkeys/new: creates a passkey for a user who signed in a moment ago. */
export function newPasskeyEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    if (request.method === 'POST') checkForm(context, request, exchange.browser, parameters)
    const recent = requireRecentSignIn(context, exchange, path)
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    if (request.method === 'GET') return sendNewPasskeyPage(context, exchange, user)
    const name = passkeyNameOf(parameters.get('name')) ?? deviceName(readUserAgent(request))
    const result = await register(context, exchange, recent.signedIn, {
      name,
      credential: parameters.get('credential') ?? '',
    })
    if (result === 'added') return reply.redirect('/account/passkeys', 303)
    return sendNewPasskeyPage(context, exchange, user, { name, wrong: faults[result] })
  }
}

const faults = {
  duplicate: 'passkey.registered',
  full: 'passkey.new.full',
  outdated: 'passkey.new.wrong',
  rejected: 'passkey.new.wrong',
} as const satisfies Record<Exclude<AddPasskeyResult, 'added'> | 'rejected', string>

async function register(
  context: PasskeyContext,
  exchange: BrowserExchange,
  { user, session }: NonNullable<Browser['signedIn']>,
  { name, credential }: { readonly name: string; readonly credential: string },
): Promise<AddPasskeyResult | 'rejected'> {
  const verified = await verifyRegistration(context, exchange, { userId: user.id }, credential)
  if ('fault' in verified) return 'rejected'
  const secret = randomToken()
  const amr = verified.backupEligible ? methodsOf.syncedPasskey : methodsOf.passkey
  const created = {
    passkey: { ...verified, name },
    credentialVersion: user.credentialVersion,
    session: { id: session.id, amr, secretHash: tokenHash(secret) },
  }
  const { request, reply } = exchange
  const messages = createNotices(context, { user, kind: 'factor_added', request, facts: { factor: 'passkey' } })
  const result = await context.store.passkeyRegistrations.add(created, maxPasskeys, messages)
  if (result !== 'added') return result
  // The session is worth more now: whoever had its cookie before does not have that (session fixation).
  setSessionCookie(context, reply, secret)
  context.signalOutbox()
  const { id, aaguid, backupEligible } = verified
  const details = { passkey: id, name, aaguid, synced: backupEligible }
  await audit(context, request, 'passkey_added', { actor: user.id, subject: user.id, details })
  return result
}

async function sendNewPasskeyPage(
  context: PasskeyContext,
  { request, reply, browser }: BrowserExchange,
  user: User,
  sent: { readonly name?: string; readonly wrong?: string } = {},
): Promise<FastifyReply> {
  const texts = textsFor(context, request)
  const options = await createRegistrationOptions(context, { browser }, user)
  return sendPage(
    context,
    reply,
    texts,
    newPasskeyPage(texts, { formToken: formToken(context, browser), options, ...sent }),
  )
}

/** The name of a passkey as it is stored; undefined for none. */
export function passkeyNameOf(sent: string | undefined): string | undefined {
  const name = sent?.trim().slice(0, maxPasskeyNameLength).toWellFormed()
  return name === undefined || name === '' || !isCleanText(name) ? undefined : name
}
