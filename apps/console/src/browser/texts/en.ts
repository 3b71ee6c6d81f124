import { access } from './en/access.ts'
import { callers } from './en/callers.ts'
import { codes } from './en/codes.ts'
import { deliver } from './en/deliver.ts'
import { operate } from './en/operate.ts'
import { people } from './en/people.ts'
import { shell } from './en/shell.ts'

/** The words of the console in English, which every other language has as well. */
export const en = { ...shell, ...people, ...access, ...deliver, ...operate, ...callers, codes }

/** The words of the console. */
export type Texts = typeof en
