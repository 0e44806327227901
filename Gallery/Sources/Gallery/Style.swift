/// The style sheet of the program.
let styleSheet = """
    .wall, .page { background: #16181d; }
    .wall gridview { background: transparent; padding: 10px; }
    .wall gridview > child { padding: 6px; background: transparent; }
    .photo { background: #23262d; border-radius: 12px; transition: box-shadow 120ms; }
    .wall gridview > child:hover .photo { box-shadow: 0 0 0 2px #5b9dff; }
    .caption { color: white; font-weight: 600; padding: 22px 12px 8px 12px; background: linear-gradient(transparent, rgba(0, 0, 0, 0.6)); }
    .missing, .dim { color: #8b93a3; }
    .title { color: #e8eaee; font-weight: 600; }
    .banner { color: #1c1500; background: #f3c64b; padding: 6px; }
    .wall headerbar { background: #1d2026; color: #e8eaee; border: none; box-shadow: none; }
    .wall headerbar entry { color: #e8eaee; background: #2a2e37; border: none; border-radius: 9px; }
    .wall headerbar entry text { background: transparent; caret-color: #5b9dff; }
    .wall headerbar button.text-button { background: #2a2e37; color: #e8eaee; border: none; border-radius: 9px; }
    progressbar > trough { min-height: 3px; background: transparent; border: none; }
    progressbar > trough > progress { min-height: 3px; min-width: 2px; background: #5b9dff; border: none; border-radius: 0; margin: 0; }
    """
