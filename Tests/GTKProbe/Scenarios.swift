/// The scenarios by name.
@MainActor
enum Scenarios {
    static let all: [String: Scenario] = [
        "texture": Pictures.texture, "picture": Pictures.shown, "image": Pictures.icon,
        "button": Controls.button, "button-child": Controls.buttonKeepsItsChild, "progress": Controls.progress, "spinner": Controls.spinner,
        "refresh": Controls.refresh, "dialog": Dialogs.oneAtATime, "dialog-parent": Dialogs.endsWithItsWindow,
        "bag": Scopes.oneBag, "widget-end": Scopes.widgetEndCancels, "disposal": Scopes.disposalCancelsThoughHeld,
        "slot": Slots.image, "rebind": Slots.rebind, "run": Slots.run, "wall": Slots.wall, "program": Slots.program,
        "indicator": Slots.indicator,
        "outlived": Scopes.adapterOutlivesItsWidget, "growth": Scopes.tenThousandWidgets,
    ]
}
