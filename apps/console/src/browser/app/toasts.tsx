import { MantineThemeProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { useTexts } from '../texts/settings.tsx'

/** Short messages about what was done. */
export function Toasts() {
  const t = useTexts()
  const closeButtonProps = { 'aria-label': t.common.close }
  return (
    <MantineThemeProvider inherit theme={{ components: { Notification: { defaultProps: { closeButtonProps } } } }}>
      <Notifications position="bottom-right" autoClose={5_000} />
    </MantineThemeProvider>
  )
}
