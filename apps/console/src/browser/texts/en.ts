import { access } from './en/access.ts'
import { callers } from './en/callers.ts'
import { codes } from './en/codes.ts'
import { content } from './en/content.ts'
import { deliver } from './en/deliver.ts'
import { limits } from './en/limits.ts'
import { measure } from './en/measure.ts'
import { operate } from './en/operate.ts'
import { people } from './en/people.ts'
import { repair } from './en/repair.ts'
import { shell } from './en/shell.ts'

/** The words of the console in English, which every other language has as well. */
export const en = {
  ...shell,
  ...measure,
  ...deliver,
  ...repair,
  ...content,
  ...people,
  ...access,
  ...limits,
  ...callers,
  ...operate,
  codes,
}

/** The words of the console. */
export type Texts = typeof en
