/** Keeps the Tab key inside an open panel: past its last stop comes its first. */
export function keepInside(event: KeyboardEvent, panel: HTMLElement, active: Element | null): void {
  const stops = [...panel.querySelectorAll<HTMLElement>('button, input')]
  const at = stops.indexOf(active as HTMLElement)
  const next = event.shiftKey ? (at <= 0 ? stops.at(-1) : undefined) : at === stops.length - 1 ? stops[0] : undefined
  if (!next && panel.contains(active)) return
  event.preventDefault()
  ;(next ?? stops[0])?.focus()
}

const itemsOf = (panel: HTMLElement) => [...panel.querySelectorAll<HTMLElement>('.open')]
const placeOf = (items: readonly HTMLElement[], active: Element | null) =>
  items.findIndex((each) => each.parentElement?.contains(active))

/** Arrows, Home and End go from item to item. */
export function moveAmongItems(event: KeyboardEvent, panel: HTMLElement, active: Element | null): void {
  const items = itemsOf(panel)
  if (items.length === 0 || active instanceof HTMLInputElement) return
  const at = placeOf(items, active)
  const last = items.length - 1
  const to = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[event.key]
  if (to === undefined) return
  event.preventDefault()
  items[to]?.focus()
}

/** Puts new content into the panel. Scrolling and focus stay where they were; where that is gone, its neighbour gets it. */
export function redraw(panel: HTMLElement, active: Element | null, content: readonly Node[]): void {
  const inside = active instanceof HTMLElement && active !== panel && panel.contains(active)
  const key = inside ? active.dataset.key : undefined
  const place = placeOf(itemsOf(panel), active)
  const top = panel.querySelector('.scroll')?.scrollTop ?? 0
  panel.replaceChildren(...content)
  const scroll = panel.querySelector('.scroll')
  if (scroll) scroll.scrollTop = top
  if (!inside) return
  const find = (wanted: string | undefined) =>
    wanted === undefined ? null : panel.querySelector<HTMLElement>(`[data-key="${CSS.escape(wanted)}"]`)
  const turned = key?.replace(/^(?:un)?read /, (what) => (what === 'read ' ? 'unread ' : 'read '))
  const items = itemsOf(panel)
  const next = find(key) ?? find(turned) ?? items[Math.min(place, items.length - 1)] ?? panel
  next.focus({ preventScroll: true })
}
