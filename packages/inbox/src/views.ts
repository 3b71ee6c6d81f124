import type { Choice, Choices, Item } from './api.ts'
import { h, icon, icons } from './dom.ts'
import type { Texts } from './texts.ts'

/** One item of the list: itself, a button that opens it, and what can be done to it. */
export function itemView(
  item: Item,
  texts: Texts,
  locale: string,
  on: (what: string, item: Item) => void,
): HTMLLIElement {
  const unread = item.read_at === undefined
  const at = new Date(item.created_at)
  const when = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(at)
  const title = item.subject ?? item.body
  const action = (what: string, label: string, path: string) =>
    h(
      'button',
      {
        type: 'button',
        class: 'icon',
        title: label,
        'aria-label': `${label}: ${title}`,
        'data-key': `${what} ${item.id}`,
        onclick: () => on(what, item),
      },
      icon(path),
    )
  return h(
    'li',
    { class: unread ? 'item unread' : 'item', 'data-id': item.id, part: 'item' },
    h(
      'button',
      { type: 'button', class: 'open', 'data-key': `open ${item.id}`, onclick: () => on('open', item) },
      unread && h('span', { class: 'live' }, texts.unreadItem),
      h('span', { class: 'subject', dir: 'auto' }, title),
      item.subject !== undefined && h('span', { class: 'body', dir: 'auto' }, item.body),
      h('time', { datetime: item.created_at }, when),
    ),
    unread ? action('read', texts.markRead, icons.check) : action('unread', texts.markUnread, icons.dot),
    action('archived', texts.archive, icons.archive),
  )
}

interface ChoiceHandlers {
  choose(choice: Choice, channel: string, on: boolean): void
  unsubscribe(unsubscribed: boolean): void
}

/** The panel of preferences: per event type its channels, and unsubscribing from all. */
export function choicesView({ unsubscribed, event_types: types }: Choices, texts: Texts, on: ChoiceHandlers): Node[] {
  const all = h(
    'div',
    { class: 'foot' },
    h(
      'button',
      { type: 'button', class: 'plain', 'data-key': 'unsubscribe', onclick: () => on.unsubscribe(!unsubscribed) },
      unsubscribed ? texts.resubscribe : texts.unsubscribe,
    ),
  )
  if (unsubscribed) return [h('p', { class: 'note' }, texts.unsubscribed), all]
  return [...types.map((choice) => choiceView(choice, texts, on)), all]
}

function choiceView(choice: Choice, texts: Texts, on: ChoiceHandlers): HTMLFieldSetElement {
  const labelled = choice.channels.map(({ channel, on: checked }) => {
    const box = h('input', {
      type: 'checkbox',
      checked,
      'data-key': `${choice.event} ${channel}`,
      onchange: () => on.choose(choice, channel, box.checked),
    })
    return h('label', {}, box, texts[channel as keyof Texts] ?? channel)
  })
  return h('fieldset', {}, h('legend', { dir: 'auto' }, choice.title), h('div', { class: 'channels' }, ...labelled))
}
