import { type Html, html, type Texts } from '@gatehouse/kit/page'
import { type DeliveryReport, nextState } from '../model/delivery/delivery-state.ts'
import type { MailboxEntry } from '../store/store.ts'
import { type MailboxAction, mailboxActions } from './actions.ts'
import { channelIcon } from './channel-icon.ts'
import { preview } from './previews.ts'
import { stateSteps } from './state-line.ts'
import { addressOf, formatTime, type MailboxView, mailboxPath, type Shown } from './view.ts'

/** One message whole: who got it, what became of it, the provider's part, and how it looks. */
export function messageView({ texts, brand, filter }: MailboxView, shown: Shown, now: number): Html {
  const { entry, look } = shown
  const { id, channel, address, userId, at, content } = entry
  const back = addressOf(undefined, { ...filter })
  return html`<article class="message" aria-labelledby="subject">
<p class="back"><a href="${back}">← ${texts.say('mailbox.back')}</a></p>
<header><span class="kind">${channelIcon(channel)}${texts.say(`channel.${channel}`)}</span>
<h1 id="subject">${titleOf(entry)}</h1>
<dl class="about"><div><dt>${texts.say('mailbox.to')}</dt><dd>${address}</dd></div><div><dt>${texts.say('mailbox.user')}</dt><dd><a href="${addressOf(undefined, { user: userId })}">${userId}</a></dd></div>${content.event !== undefined && html`<div><dt>${texts.say('mailbox.event')}</dt><dd><code>${content.event}</code></dd></div>`}<div><dt>${texts.say('mailbox.at')}</dt><dd><time datetime="${new Date(at).toISOString()}">${formatTime(at, texts.locale, now)}</time></dd></div></dl>
${siblingLinks(texts, shown)}</header>
<section id="state" aria-label="${texts.say('mailbox.state')}" data-live>${stateLine(texts, shown, now)}${reportForms(texts, shown)}</section>
${preview({ texts, entry, brand, look })}
<p class="soft identifier"><code>${id}</code></p></article>`
}

/** What a message is called in the list and above itself. */
export function titleOf({ content: { subject, body } }: MailboxEntry): string {
  return subject ?? (body.length > 80 ? `${body.slice(0, 79)}…` : body)
}

function siblingLinks(texts: Texts, { siblings }: Shown): Html | undefined {
  if (siblings.length === 0) return undefined
  return html`<p class="siblings"><span class="soft">${texts.say('mailbox.siblings')}</span>${siblings.map(
    ({ id, channel }) =>
      html` <a href="${mailboxPath}/${encodeURIComponent(id)}">${channelIcon(channel)}${texts.say(`channel.${channel}`)}</a>`,
  )}</p>`
}

function stateLine(texts: Texts, { entry, standing, record }: Shown, now: number): Html {
  const dead = standing?.deadToken && html`<p class="note wrong">${texts.say('mailbox.dead')}</p>`
  if (standing?.state === undefined) return html`<p class="soft">${texts.say('mailbox.untracked')}</p>${dead}`
  const steps = stateSteps(standing.state, record, entry.channel)
  return html`<ol class="states">${steps.map(
    ({ state, standing: how, at }) =>
      html`<li class="${state} ${how}"${state === standing.state && html` aria-current="step"`}><span>${texts.say(`state.${state}`)}</span>${
        how === 'ahead'
          ? html`<small class="sr">${texts.say('mailbox.ahead')}</small>`
          : html`<small>${at === undefined ? texts.say('mailbox.implied') : formatTime(at, texts.locale, now)}</small>`
      }</li>
`,
  )}</ol>${dead}`
}

/** What the provider may report now; what would change nothing cannot be pressed. */
function reportForms(texts: Texts, { entry, standing }: Shown): Html {
  const actions = mailboxActions.filter((action) => action !== 'unregistered' || entry.channel === 'push')
  return html`<div class="reports" role="group" aria-label="${texts.say('mailbox.answer')}"><span class="soft" aria-hidden="true">${texts.say('mailbox.answer')}</span>${actions.map(
    (action) =>
      html`<form method="post" action="${mailboxPath}/${encodeURIComponent(entry.id)}/${action}"><button class="quiet small" id="report-${action}"${!changes(action, standing) && html` disabled`}>${texts.say(`report.${action}`)}</button></form>`,
  )}</div>`
}

function changes(action: MailboxAction, standing: Shown['standing']): boolean {
  if (action === 'unregistered') return !standing?.deadToken
  return standing?.state !== undefined && nextState(standing.state, action as DeliveryReport) !== undefined
}
