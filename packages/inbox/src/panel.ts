import type { Choice, Choices, Item } from './api.ts'
import { h, icon, icons } from './dom.ts'
import type { Items } from './items.ts'
import type { Texts } from './texts.ts'

/** What can be done in the list. */
interface ListActions {
  filter(onlyUnread: boolean): void
  preferences(): void
  close(): void
  /** Reads all up to this change. */
  readAll(upTo: number): void
  more(next: string): void
  item(what: string, item: Item): void
}

interface PreferencesActions {
  back(): void
  close(): void
  choose(event: string, channel: string, on: boolean): void
  unsubscribe(unsubscribed: boolean): void
}

/** The panel with the list of items. */
export function listPanel(
  items: Items,
  { texts, locale, troubles }: { readonly texts: Texts; readonly locale: string; readonly troubles: readonly Node[] },
  act: ListActions,
): Node[] {
  const { list, next } = items
  return [
    h(
      'div',
      { class: 'head' },
      h('h2', {}, texts.title),
      button('preferences', texts.preferences, icons.gear, () => act.preferences()),
      button('close', texts.close, icons.close, () => act.close()),
    ),
    bar(items, texts, act),
    ...troubles,
    h(
      'div',
      { class: 'scroll' },
      list.length === 0 && h('p', { class: 'note' }, texts.empty),
      h('ul', { role: 'list' }, ...list.map((item) => itemView(item, texts, locale, act))),
      next !== undefined &&
        h(
          'button',
          { type: 'button', class: 'text more', 'data-key': 'more', onclick: () => act.more(next) },
          texts.more,
        ),
    ),
  ]
}

/** The panel with what the user may choose. */
export function preferencesPanel(
  choices: Choices | undefined,
  texts: Texts,
  troubles: readonly Node[],
  act: PreferencesActions,
): Node[] {
  return [
    h(
      'div',
      { class: 'head' },
      button('back', texts.back, icons.back, () => act.back()),
      h('h2', {}, texts.preferences),
      button('close', texts.close, icons.close, () => act.close()),
    ),
    ...troubles,
    h('div', { class: 'scroll' }, ...(choices ? choicesView(choices, texts, act) : [])),
  ]
}

/** All or unread, and reading all at once. */
function bar({ counts, onlyUnread }: Items, texts: Texts, act: ListActions): Node {
  const filter = (label: string, unread: boolean) =>
    h(
      'button',
      {
        type: 'button',
        class: 'pill',
        'aria-pressed': String(onlyUnread === unread),
        'data-key': `filter ${unread}`,
        onclick: () => act.filter(unread),
      },
      label,
    )
  return h(
    'div',
    { class: 'bar' },
    filter(texts.all, false),
    filter(`${texts.unread}${counts.unread > 0 ? ` (${counts.unread})` : ''}`, true),
    h('span', { class: 'spring' }),
    counts.unread > 0 &&
      h(
        'button',
        { type: 'button', class: 'text', 'data-key': 'all', onclick: () => act.readAll(counts.sequence) },
        texts.markAll,
      ),
  )
}

function button(key: string, label: string, path: string, onclick: () => void): HTMLButtonElement {
  return h(
    'button',
    {
      type: 'button',
      class: key === 'back' ? 'icon back' : 'icon ',
      title: label,
      'aria-label': label,
      'data-key': key,
      onclick,
    },
    icon(path),
  )
}

/** One item of the list: itself, a button that opens it, and what can be done to it. */
function itemView(item: Item, texts: Texts, locale: string, act: ListActions): HTMLLIElement {
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
        onclick: () => act.item(what, item),
      },
      icon(path),
    )
  return h(
    'li',
    { class: unread ? 'item unread' : 'item', 'data-id': item.id, part: 'item' },
    h(
      'button',
      { type: 'button', class: 'open', 'data-key': `open ${item.id}`, onclick: () => act.item('open', item) },
      unread && h('span', { class: 'live' }, texts.unreadItem),
      h('span', { class: 'subject', dir: 'auto' }, title),
      item.subject !== undefined && h('span', { class: 'body', dir: 'auto' }, item.body),
      h('time', { datetime: item.created_at }, when),
    ),
    unread ? action('read', texts.markRead, icons.check) : action('unread', texts.markUnread, icons.dot),
    action('archived', texts.archive, icons.archive),
  )
}

/** The panel of preferences: per event type its channels, and unsubscribing from all. */
function choicesView({ unsubscribed, event_types: types }: Choices, texts: Texts, act: PreferencesActions): Node[] {
  const all = h(
    'div',
    { class: 'foot' },
    h(
      'button',
      { type: 'button', class: 'plain', 'data-key': 'unsubscribe', onclick: () => act.unsubscribe(!unsubscribed) },
      unsubscribed ? texts.resubscribe : texts.unsubscribe,
    ),
  )
  if (unsubscribed) return [h('p', { class: 'note' }, texts.unsubscribed), all]
  return [...types.map((choice) => choiceView(choice, texts, act)), all]
}

function choiceView(choice: Choice, texts: Texts, act: PreferencesActions): HTMLFieldSetElement {
  const labelled = choice.channels.map(({ channel, on: checked }) => {
    const box = h('input', {
      type: 'checkbox',
      checked,
      'data-key': `${choice.event} ${channel}`,
      onchange: () => act.choose(choice.event, channel, box.checked),
    })
    return h('label', {}, box, texts[channel as keyof Texts] ?? channel)
  })
  return h('fieldset', {}, h('legend', { dir: 'auto' }, choice.title), h('div', { class: 'channels' }, ...labelled))
}
