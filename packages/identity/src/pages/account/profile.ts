import { type Html, html, type Texts } from '@gatehouse/kit/page'

/** Who the user is, as the account page shows it. */
export interface ShownProfile {
  readonly username: string
  readonly name: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly phoneNumber: string | undefined
  readonly isPhoneNumberVerified: boolean
  /** Whether the address can be changed: where there is mail. */
  readonly mayChangeEmail: boolean
  /** Whether the phone number can be changed: where there are text messages. */
  readonly mayChangePhoneNumber: boolean
}

/** Name, address and phone number, with the pages that change them. */
export function profileSection(texts: Texts, profile: ShownProfile): Html {
  const { username, name, email, phoneNumber, mayChangeEmail, mayChangePhoneNumber } = profile
  const none = texts.say('account.profile.none')
  return html`<h2>${texts.say('account.profile')}</h2>
<ul class="rows">
${row(texts, 'account.profile.username', html`${username}`)}
${row(texts, 'account.profile.name', html`${name ?? none}`, '/account/profile')}
${row(
  texts,
  'account.profile.email',
  email === undefined ? html`${none}` : html`${email}${provenBadge(texts, profile.emailVerified)}`,
  mayChangeEmail ? '/account/email' : undefined,
)}
${row(
  texts,
  'account.profile.phone',
  phoneNumber === undefined
    ? html`${none}`
    : html`${phoneNumber}${mayChangePhoneNumber && provenBadge(texts, profile.isPhoneNumberVerified)}`,
  mayChangePhoneNumber ? '/account/phone' : undefined,
)}
</ul>`
}

function provenBadge(texts: Texts, isProven: boolean): Html {
  return html` <span class="badge">${texts.say(isProven ? 'account.profile.verified' : 'account.profile.unverified')}</span>`
}

function row(texts: Texts, label: string, value: Html, href?: string): Html {
  return html`<li><div><span class="soft">${texts.say(label)}</span><br>${value}</div>
${href !== undefined && html`<a href="${href}" aria-label="${texts.say('account.change')}: ${texts.say(label)}">${texts.say('account.change')}</a>`}</li>`
}
