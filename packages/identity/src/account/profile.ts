import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

const accountNext: NextStep = { href: '/account', text: 'back' }
const maxNameLength = 200
/** E.164: at most 15 digits, the first not zero. */
const phoneNumberPattern = /^\+[1-9]\d{6,14}$/

/** GET and POST /account/profile: changes name and phone number. Messages go to the number, so a recent sign-in is needed. */
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
    const phoneNumber = posted ? normalizePhoneNumber(parameters.get('phone_number')) : claimOf(user, 'phone_number')
    const texts = textsFor(context, request)
    const form = {
      key: 'profile',
      action: '/account/profile',
      formToken: formToken(context, browser),
      fields: fieldsOf(name, phoneNumber),
      back: accountNext,
    }
    if (!posted) return sendPage(context, reply, texts, formPage(texts, form))
    if (phoneNumber !== '' && !phoneNumberPattern.test(phoneNumber)) {
      const wrong = { wrong: 'profile.phone.wrong', wrongField: 'phone_number' }
      return sendPage(context, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    await changeProfile(context, request, user, { name: name.slice(0, maxNameLength), phone_number: phoneNumber })
    return sendPage(context, reply, texts, messagePage(texts, 'profile.done', { next: accountNext }))
  }
}

function fieldsOf(name: string, phoneNumber: string): Field[] {
  const optional = { isOptional: true }
  return [
    { name: 'name', text: 'register.name', type: 'text', autocomplete: 'name', value: name, ...optional },
    {
      name: 'phone_number',
      text: 'profile.phone',
      type: 'tel',
      autocomplete: 'tel',
      value: phoneNumber,
      hint: 'profile.phone.hint',
      ...optional,
    },
  ]
}

function claimOf({ claims }: User, name: string): string {
  const value = claims[name]
  return typeof value === 'string' ? value : ''
}

function normalizePhoneNumber(text: string | undefined): string {
  return (text ?? '').replaceAll(/[\s()./-]/g, '').replace(/^00/, '+')
}

/** @throws PageError 400 when the account changed meanwhile */
async function changeProfile(
  context: OverviewContext,
  request: FastifyRequest,
  user: User,
  members: Readonly<Record<'name' | 'phone_number', string>>,
): Promise<void> {
  const claims = { ...user.claims, ...members }
  // Nobody has proven the new number.
  if (members.phone_number !== claimOf(user, 'phone_number')) Reflect.deleteProperty(claims, 'phone_number_verified')
  for (const [name, value] of Object.entries(members)) if (value === '') Reflect.deleteProperty(claims, name)
  const changed = { ...user, claims, passwordHash: undefined }
  const messages = [createRecipientMessage(context, user.id)]
  const result = await context.store.users.update(changed, user, messages, revocationTimes(context))
  if (result !== 'changed') throw new PageError(400, 'error.stale')
  context.signalOutbox()
  const before = Object.keys(members).filter((name) => claimOf(user, name) !== members[name as keyof typeof members])
  await audit(context, request, 'profile_changed', {
    actor: user.id,
    subject: user.id,
    details: { members: before },
  })
}
