import { NativeSelect, Stack, Switch, useMantineColorScheme } from '@mantine/core'
import { Page } from '../../parts/page.tsx'
import { type Settings, useSettings, useTexts } from '../../texts/settings.tsx'

/** What a person chooses for this browser. */
export function SettingsScreen() {
  const t = useTexts()
  const { settings, change } = useSettings()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Page title={t.sections.settings} lead={t.settings.lead}>
      <Stack className="panel" maw={420}>
        <NativeSelect
          label={t.settings.language}
          value={settings.language}
          onChange={({ currentTarget }) => change({ language: currentTarget.value as Settings['language'] })}
          data={[
            { value: 'en', label: 'English' },
            { value: 'de', label: 'Deutsch' },
          ]}
        />
        <NativeSelect
          label={t.settings.theme}
          value={colorScheme}
          onChange={({ currentTarget }) => setColorScheme(currentTarget.value as typeof colorScheme)}
          data={[
            { value: 'auto', label: t.settings.auto },
            { value: 'light', label: t.settings.light },
            { value: 'dark', label: t.settings.dark },
          ]}
        />
        <NativeSelect
          label={t.settings.zone}
          value={settings.zone}
          onChange={({ currentTarget }) => change({ zone: currentTarget.value as Settings['zone'] })}
          data={[
            { value: 'local', label: t.settings.local },
            { value: 'utc', label: t.settings.utc },
          ]}
        />
        <NativeSelect
          label={t.settings.density}
          value={settings.density}
          onChange={({ currentTarget }) => change({ density: currentTarget.value as Settings['density'] })}
          data={[
            { value: 'comfortable', label: t.settings.comfortable },
            { value: 'compact', label: t.settings.compact },
          ]}
        />
        <Switch
          label={t.settings.keys}
          checked={settings.keys}
          onChange={({ currentTarget }) => change({ keys: currentTarget.checked })}
        />
      </Stack>
    </Page>
  )
}
