import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

const accountNext: NextStep = { href: '/account', text: 'back' }
const maxNameLength = 200
const nameField: Field = { name: 'name', text: 'register.name', type: 'text', autocomplete: 'name', isOptional: true }

/** GET and POST /account/profile: changes the name. Needs a recent sign-in. */
export function profileEndpoint(
  context: OverviewContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/profile')
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    const posted = request.method === 'POST'
    const name = posted ? (parameters.get('name')?.trim() ?? '') : claimOf(user, 'name')
    const texts = textsFor(context, request)
    const form = {
      key: 'profile',
      action: '/account/profile',
      formToken: formToken(context, browser),
      fields: [{ ...nameField, value: name }],
      back: accountNext,
    }
    if (!posted) return sendPage(context, reply, texts, formPage(texts, form))
    await changeName(context, request, user, name.slice(0, maxNameLength))
    return sendPage(context, reply, texts, messagePage(texts, 'profile.done', { next: accountNext }))
  }
}

function claimOf({ claims }: User, name: string): string {
  const value = claims[name]
  return typeof value === 'string' ? value : ''
}

/** @throws PageError 400 when the account changed meanwhile */
async function changeName(context: OverviewContext, request: FastifyRequest, user: User, name: string): Promise<void> {
  const { name: before, ...others } = user.claims
  const changed = { ...user, claims: name === '' ? others : { ...user.claims, name }, passwordHash: undefined }
  const messages = [createRecipientMessage(context, user.id)]
  const result = await context.store.users.update(changed, user, messages, () => revocationTimes(context))
  if (result !== 'changed') throw new PageError(400, 'error.stale')
  context.signalOutbox()
  const members = (before ?? '') === name ? [] : ['name']
  await audit(context, request, 'profile_changed', { actor: user.id, subject: user.id, details: { members } })
}
