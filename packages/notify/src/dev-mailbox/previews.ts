import { type Html, html, initialOf, type Texts } from '@gatehouse/kit/page'
import type { MailboxEntry } from '../store/store.ts'
import { divideSms } from '../templates/sms-parts.ts'
import { frameSandbox, hasRemoteImages, schemes } from './mail-frame.ts'
import { addressOf, type Look, mailboxPath } from './view.ts'

interface PreviewOptions {
  readonly texts: Texts
  readonly entry: MailboxEntry
  /** The name that phones show as the application or the sender. */
  readonly brand: string
  readonly look: Look
}

/** A message as the person gets it. */
export function preview(options: PreviewOptions): Html {
  const { channel } = options.entry
  if (channel === 'email') return mailPreview(options)
  if (channel === 'push') return pushPreview(options)
  return channel === 'sms' ? smsPreview(options) : inboxPreview(options)
}

function mailPreview({ texts, entry, look }: PreviewOptions): Html {
  const { body, subject = '', html: markup, headers = {} } = entry.content
  const fields = { To: entry.address, Subject: subject, Date: new Date(entry.at).toUTCString(), ...headers }
  return html`${markup === undefined ? undefined : mailFrame(texts, entry, look, markup)}
<div class="parts"><section class="panel"><h2>${texts.say('mailbox.text')}</h2><pre tabindex="0" role="group" aria-label="${texts.say('mailbox.text')}">${body}</pre></section>
<section class="panel"><h2>${texts.say('mailbox.headers')}</h2><dl class="fields">${Object.entries(fields).map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`,
  )}</dl></section></div>`
}

function mailFrame(texts: Texts, { id, content }: MailboxEntry, look: Look, markup: string): Html {
  const tab = (name: string, query: Look, isOn: boolean) =>
    html`<a href="${addressOf(id, { ...query })}"${isOn && html` aria-current="true"`}>${texts.say(`mailbox.${name}`)}</a>`
  const source = `${mailboxPath}/${encodeURIComponent(id)}/html?scheme=${look.scheme}`
  return html`<section class="mail ${look.width}"><div class="looks">
<div role="group" aria-label="${texts.say('mailbox.scheme')}">${schemes.map((scheme) => tab(scheme, { ...look, scheme }, scheme === look.scheme))}</div>
<div role="group" aria-label="${texts.say('mailbox.width')}">${(['wide', 'phone'] as const).map((width) => tab(width, { ...look, width }, width === look.width))}</div>
</div><iframe sandbox="${frameSandbox}" referrerpolicy="no-referrer" src="${source}" title="${texts.say('mailbox.frame', { subject: content.subject ?? '' })}"></iframe>
${hasRemoteImages(markup) && html`<p class="soft">${texts.say('mailbox.images')}</p>`}</section>`
}

function pushPreview({ texts, entry, brand }: PreviewOptions): Html {
  const { subject, body } = entry.content
  const mark = html`<span class="app" aria-hidden="true">${initialOf({ name: brand })}</span>`
  const words = html`${subject !== undefined && html`<strong>${subject}</strong>`}<span class="words">${body}</span>`
  return html`<div class="phones">
<figure class="phone ios"><div class="screen"><p class="clock" aria-hidden="true">9:41</p><div class="note">${mark}<div><span class="from"><b>${brand}</b><i>${texts.say('mailbox.now')}</i></span>${words}</div></div></div><figcaption>iOS</figcaption></figure>
<figure class="phone android"><div class="screen"><p class="clock" aria-hidden="true">9:41</p><div class="note">${mark}<div><span class="from">${brand} · ${texts.say('mailbox.now')}</span>${words}</div></div></div><figcaption>Android</figcaption></figure>
</div>`
}

function smsPreview({ texts, entry, brand }: PreviewOptions): Html {
  const { encoding, units, unitsPerSegment, segments, outsideGsm } = divideSms(entry.content.body)
  const several = segments.length > 1
  const parts = segments.map(
    ({ text }, index) =>
      html`<span class="segment">${text}${several && html`<small>${index + 1}/${segments.length}</small>`}</span>`,
  )
  const facts = [
    ['encoding', encoding],
    ['segments', segments.length],
    [
      'units',
      several
        ? segments.map((segment) => segment.units).join(' + ')
        : texts.say('mailbox.of', { n: String(units), max: String(unitsPerSegment) }),
    ],
  ] as const
  return html`<div class="phones"><figure class="phone sms"><div class="screen"><p class="sender">${brand}</p><p class="bubble">${parts}</p></div></figure>
<section class="panel"><h2>${texts.say('mailbox.sms')}</h2><dl class="fields">${facts.map(
    ([name, value]) => html`<dt>${texts.say(`mailbox.sms.${name}`)}</dt><dd>${value}</dd>`,
  )}</dl>${outsideGsm.length > 0 && forcing(texts, outsideGsm)}</section></div>`
}

const maxNamed = 8

/** What makes a text UCS-2, by character, code point and, where it has one of everyday life, name. */
function forcing(texts: Texts, characters: readonly string[]): Html {
  const items = characters.slice(0, maxNamed).map((character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return html`<li><b>${character.trim() === '' ? '␣' : character}</b> U+${code} ${characterName(texts, character, code)}</li>
`
  })
  const more = characters.length - items.length
  return html`<p class="careful note">${texts.say('mailbox.sms.forced')}</p><ul class="forcing">${items}</ul>${more > 0 && html`<p class="soft">${texts.say('mailbox.sms.more', { n: String(more) })}</p>`}`
}

function characterName(texts: Texts, character: string, code: string): string {
  const key = `character.${code}`
  if (texts.has(key)) return texts.say(key)
  if (/\p{Extended_Pictographic}/u.test(character)) return texts.say('character.emoji')
  const script = scripts.find((name) => new RegExp(`\\p{Script=${name}}`, 'u').test(character))
  return script === undefined ? '' : texts.say(`character.${script}`)
}

const scripts = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Arabic',
  'Hebrew',
  'Han',
  'Hiragana',
  'Katakana',
  'Hangul',
  'Thai',
] as const

function inboxPreview({ texts, entry }: PreviewOptions): Html {
  const { subject, body } = entry.content
  return html`<div class="feed panel"><p class="title">${texts.say('mailbox.feed')}</p><div class="item">${subject !== undefined && html`<strong>${subject}</strong>`}<p>${body}</p><span class="soft">${texts.say('mailbox.now')}</span></div></div>`
}
