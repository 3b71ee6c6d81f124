import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PasskeyContext } from '../context/features.ts'
import type { Passkey } from '../model/factors/passkey.ts'
import { relyingPartyOf } from '../model/factors/relying-party.ts'
import type { User } from '../model/user.ts'
import { passkeysPage } from '../pages/passkeys/pages.ts'
import { formToken, readBrowser } from '../sessions/browser.ts'
import { sendSignInPage } from '../sessions/sign-in-page.ts'
import { createUserHandle } from '../webauthn/registration.ts'

/** GET /account/passkeys: the user's passkeys. */
export function passkeysEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const exchange = { request, reply, browser }
    if (browser.signedIn === undefined) return sendSignInPage(context, exchange, '/account/passkeys')
    const { user } = browser.signedIn
    const passkeys = await context.store.passkeys.listByUser(user.id)
    const texts = textsFor(context, request)
    const accepted = await acceptedPasskeys(context, user, passkeys)
    const isPasswordOptional = passkeys.length > 0 && user.passwordHash !== undefined
    const page = { formToken: formToken(context, browser), passkeys, accepted, isPasswordOptional }
    return sendPage(context, reply, texts, passkeysPage(texts, page))
  }
}

/** What a device is told: the passkeys that exist here. It can hide all others, such as one that was removed. */
async function acceptedPasskeys(
  { store, issuer }: PasskeyContext,
  user: User,
  passkeys: readonly Passkey[],
): Promise<object> {
  const { name } = user.claims
  return {
    rpId: relyingPartyOf(issuer).id,
    userId: await store.passkeyRegistrations.userHandle(user.id, createUserHandle()),
    credentialIds: passkeys.map(({ credentialId }) => credentialId),
    name: user.email ?? user.username,
    displayName: typeof name === 'string' ? name : user.username,
  }
}
