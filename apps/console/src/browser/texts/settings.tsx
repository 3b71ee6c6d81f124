import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { en, type Texts } from './en.ts'

/** What a person chose for this browser. */
export interface Settings {
  readonly language: 'en' | 'de'
  readonly zone: 'local' | 'utc'
  /** How much room rows take. */
  readonly density: 'comfortable' | 'compact'
  /** Whether single keys are shortcuts (WCAG 2.1.4). */
  readonly keys: boolean
  /** Whether templates are written in the editor, or in a plain field. */
  readonly editor: 'code' | 'plain'
  /** Whether the first steps are in the menu. */
  readonly showsStart: boolean
}

interface Chosen {
  readonly settings: Settings
  readonly texts: Texts
  change(settings: Partial<Settings>): void
}

const storageKey = 'gatehouse-console-settings'
const ChosenContext = createContext<Chosen | undefined>(undefined)

/**
 * How dates are written: as the region of the browser does, where it speaks the language; 23 Nov 2026 in Britain is
 * Nov 23, 2026 in the United States.
 */
export function dateLocale(language: string): string {
  return navigator.languages.find((tag) => tag === language || tag.startsWith(`${language}-`)) ?? language
}

function readSettings(): Settings {
  const language = navigator.language.startsWith('de') ? 'de' : 'en'
  const defaults: Settings = {
    language,
    zone: 'local',
    density: 'comfortable',
    keys: true,
    editor: 'code',
    showsStart: true,
  }
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Partial<Settings>) }
  } catch {
    return defaults
  }
}

/** Provides language and settings. German is loaded when it is used; until then there is nothing to show. */
export function SettingsProvider({ children }: { children: ReactNode }) {
  const [settings, setSettings] = useState(readSettings)
  const [texts, setTexts] = useState<Texts | undefined>(settings.language === 'en' ? en : undefined)
  useEffect(() => {
    let current = true
    document.documentElement.lang = settings.language
    if (settings.language === 'en') setTexts(en)
    else
      void import('./de.ts').then(
        ({ de }) => current && setTexts(de),
        // While they cannot be loaded, English is better than nothing.
        () => current && setTexts((before) => before ?? en),
      )
    return () => {
      current = false
    }
  }, [settings.language])
  useEffect(() => {
    document.documentElement.dataset.density = settings.density
  }, [settings.density])
  if (texts === undefined) return null
  const change = (changed: Partial<Settings>) => {
    const next = { ...settings, ...changed }
    localStorage.setItem(storageKey, JSON.stringify(next))
    setSettings(next)
  }
  return <ChosenContext value={{ settings, texts, change }}>{children}</ChosenContext>
}

function useChosen(): Chosen {
  const chosen = useContext(ChosenContext)
  if (chosen === undefined) throw new Error('there are no settings here')
  return chosen
}

/** The words in the chosen language. */
export function useTexts(): Texts {
  return useChosen().texts
}

/** The settings, and how to change them. */
export function useSettings(): Pick<Chosen, 'settings' | 'change'> {
  return useChosen()
}
