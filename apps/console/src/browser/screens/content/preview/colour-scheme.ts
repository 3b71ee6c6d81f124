/** The colour scheme that a mail is shown in. */
export type ColourScheme = 'light' | 'dark'

const always = '(min-width: 0px)'
const never = '(max-width: -1px)'

/**
 * A style sheet or a media query whose `prefers-color-scheme` is answered: a frame follows the system, not the scheme
 * that its page asks for.
 */
export function answerColourScheme(css: string, scheme: ColourScheme): string {
  return css.replace(/\(\s*prefers-color-scheme\s*(?::\s*([\w-]+)\s*)?\)/gi, (_, wanted: string | undefined) =>
    wanted === undefined || wanted.toLowerCase() === scheme ? always : never,
  )
}

/** Whether the styles of a mail, or a meta element of it, say that it is made for the dark. */
export function knowsDark(text: string): boolean {
  return /prefers-color-scheme|color-schemes?(?:\s*:|["'\s][^>]*content)[^;}>]*\bdark\b/i.test(text)
}

/** A style sheet that loads nothing: neither others nor pictures of other hosts. */
export function holdUrls(css: string): string {
  return css.replace(/@import\b[^;]*;?/gi, '').replace(/url\(\s*(["']?)(?!data:)[^)]*\)/gi, 'none')
}
