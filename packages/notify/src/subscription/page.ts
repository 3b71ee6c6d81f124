import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { Choice, UserChoices } from '../preferences/choices.ts'

/** Asks; its button does what a mail program's own button does. */
export function unsubscribePage(texts: Texts, action: string, title: string): PageAnswer {
  const heading = texts.say('unsubscribe.title')
  return {
    title: heading,
    body: html`<h1>${heading}</h1>
<p class="lead">${texts.say('unsubscribe.lead', { title })}</p>
<form method="post" action="${action}">
<div class="actions"><button type="submit">${texts.say('unsubscribe.submit')}</button></div>
</form>`,
  }
}

/** Says that it is done, and leads to where it can be taken back. */
export function unsubscribedPage(texts: Texts, title: string, preferences: string | undefined): PageAnswer {
  const heading = texts.say('unsubscribed.title')
  return {
    title: heading,
    body: html`<h1>${heading}</h1><p class="lead" role="status">${texts.say('unsubscribe.done', { title })}</p>
${preferences !== undefined && html`<p><a href="${new URL(preferences).pathname}">${texts.say('unsubscribe.settings')}</a></p>`}`,
  }
}

/** What people call an event type: the words of their language, else its own title. */
export function titleIn(texts: Texts, { event, title }: Pick<Choice, 'event' | 'title'>): string {
  return texts.has(`event.${event}`) ? texts.say(`event.${event}`) : title
}

/** What became of a form: stored, or given back as it was filled in. */
export type Sent = { readonly note: 'saved' } | { readonly note: 'wrong'; readonly form: URLSearchParams }

/** Per event type its channels; quiet hours and time zone; unsubscribing from everything. */
export function preferencesPage(texts: Texts, action: string, user: UserChoices, sent: Sent | undefined): PageAnswer {
  const note = sent?.note
  const form = sent?.note === 'wrong' ? sent.form : undefined
  const title = texts.say('preferences.title')
  const all = (value: 'on' | 'off', label: string) =>
    html`<form method="post" action="${action}"><div class="actions"><button class="quiet" type="submit" name="all" value="${value}">${label}</button></div></form>`
  return {
    title,
    wide: true,
    status: note === 'wrong' ? 422 : 200,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('preferences.lead')}</p>
${note === 'saved' && html`<p class="note good" role="status">${texts.say('preferences.saved')}</p>`}
${note === 'wrong' && html`<p class="note wrong" role="alert">${texts.say('preferences.wrong')}</p>`}
${
  user.unsubscribed
    ? html`<p>${texts.say('preferences.none')}</p>${all('on', texts.say('preferences.again'))}`
    : html`<form method="post" action="${action}">
${user.choices.map((choice) => choiceFields(texts, choice, form))}
${quietFields(texts, user, form)}
<div class="actions"><button type="submit">${texts.say('preferences.submit')}</button></div>
</form>${all('off', texts.say('preferences.all'))}`
}`,
  }
}

function choiceFields(texts: Texts, choice: Choice, form: URLSearchParams | undefined): Html {
  const { event, channels } = choice
  const checked = (channel: string, on: boolean) => (form ? form.has(`on:${event}`, channel) : on)
  const shown = channels.flatMap(({ channel, on }) => (on ? [channel] : [])).join(' ')
  return html`<fieldset class="choice"><legend>${titleIn(texts, choice)}</legend>
<input type="hidden" name="was:${event}" value="${shown}">
${channels.map(
  ({ channel, on }) =>
    html`<label class="check"><input type="checkbox" name="on:${event}" value="${channel}"${checked(channel, on) && html` checked`}> ${texts.say(`channel.${channel}`)}</label>`,
)}</fieldset>`
}

function quietFields(texts: Texts, { quietHours, zoneinfo }: UserChoices, form: URLSearchParams | undefined): Html {
  const filled = (name: string, stored: string | undefined) => form?.get(name) ?? stored ?? ''
  return html`<fieldset class="choice"><legend>${texts.say('preferences.quiet')}</legend>
<p class="soft">${texts.say('preferences.quiet.lead')}</p>
<input type="hidden" name="was_quiet" value="${quietHours ? `${quietHours.start} ${quietHours.end}` : ''}">
<input type="hidden" name="was_zoneinfo" value="${zoneinfo ?? ''}">
<label for="quiet_start">${texts.say('preferences.from')}</label>
<input id="quiet_start" name="quiet_start" type="time" value="${filled('quiet_start', quietHours?.start)}">
<label for="quiet_end">${texts.say('preferences.until')}</label>
<input id="quiet_end" name="quiet_end" type="time" value="${filled('quiet_end', quietHours?.end)}">
<label for="zoneinfo">${texts.say('preferences.zone')}</label>
<input id="zoneinfo" name="zoneinfo" value="${filled('zoneinfo', zoneinfo)}" autocapitalize="none" spellcheck="false" placeholder="Europe/Berlin">
</fieldset>`
}
