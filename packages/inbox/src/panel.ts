import type { Choices, Item } from './api.ts'
import { h, icon, icons } from './dom.ts'
import type { Items } from './items.ts'
import type { Texts } from './texts.ts'
import { choicesView, itemView } from './views.ts'

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
      h(
        'ul',
        { role: 'list' },
        ...list.map((item) => itemView(item, texts, locale, (what, each) => act.item(what, each))),
      ),
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
    h(
      'div',
      { class: 'scroll' },
      ...(choices
        ? choicesView(choices, texts, {
            choose: ({ event }, channel, on) => act.choose(event, channel, on),
            unsubscribe: (unsubscribed) => act.unsubscribe(unsubscribed),
          })
        : []),
    ),
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
