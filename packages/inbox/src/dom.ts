type Child = Node | string | false | undefined
type Properties<Name extends keyof HTMLElementTagNameMap> = Partial<
  Record<`aria-${string}` | `data-${string}` | 'class' | 'role' | 'part' | 'dir' | 'datetime' | 'for', string>
> &
  Partial<
    Pick<
      HTMLElementTagNameMap[Name],
      Extract<
        keyof HTMLElementTagNameMap[Name],
        'onclick' | 'hidden' | 'type' | 'checked' | 'disabled' | 'onchange' | 'title' | 'tabIndex' | 'id'
      >
    >
  >

/** Makes an element. Text is text, never markup. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties<Name> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === 'string' && !(key in element)) element.setAttribute(key, value)
    else if (value !== undefined) Object.assign(element, { [key]: value })
  }
  element.append(...children.filter((child): child is Node | string => child !== false && child !== undefined))
  return element
}

/** A drawing of lines, 24 units wide, in the colour of the text around it. */
export function icon(path: string): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(space, 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  const line = document.createElementNS(space, 'path')
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}

/** Paths of the icons, for {@link icon}. */
export const icons = {
  bell: 'M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7M10 20a2 2 0 0 0 4 0',
  gear: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l4 4L19 7',
  dot: 'M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8',
  archive: 'M4 5h16v4H4zM6 9v10h12V9M10 13h4',
  back: 'M15 5l-7 7l7 7',
} as const
